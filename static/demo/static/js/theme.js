// Dark or light: what the reader chose here, else what the system says. Runs before the first
// paint, so that nothing flashes.
const root = document.documentElement;
const chosen = localStorage.getItem("theme");
if (chosen) root.dataset.theme = chosen;

addEventListener("DOMContentLoaded", () => {
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
  });
});
