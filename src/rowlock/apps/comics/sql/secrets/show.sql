select secret from comics_secrets where name = :name
