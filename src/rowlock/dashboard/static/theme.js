// Runs before the page is drawn, so that a chosen theme does not flash.
try {
  const theme = localStorage.getItem("rowlock-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is blocked: the theme of the system is used.
}
