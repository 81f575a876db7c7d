-- A token that somebody has already adds nothing: another one is drawn.
insert into chat_applications (token, name) values (:token, :name) on conflict (token) do nothing returning id
