// The script of a blog with Stacosys, rewritten: it sends the same requests and uses the same ids.
const SERVICE = document.currentScript.src.split("?")[1];
const TOKEN = "9fb3fc042c57";
const STACOSYS_PAGE = document.documentElement.dataset.page;

function ask(method, path, body, done) {
  const request = new XMLHttpRequest();
  request.open(method, SERVICE + path, true);
  request.onreadystatechange = () => {
    if (request.readyState === 4 && request.status >= 200 && request.status < 400) {
      done(request.responseText);
    }
  };
  if (body) request.setRequestHeader("Content-type", "application/json");
  request.send(body);
}

function showComments() {
  ask("GET", "/comments?token=" + TOKEN + "&url=" + STACOSYS_PAGE, null, (text) => {
    const list = document.getElementById("stacosys-comments");
    for (const { author, avatar, site, date, content } of JSON.parse(text).data) {
      const line = document.createElement("p");
      line.textContent = [author, avatar, site, date, content].join(" | ");
      list.append(line);
    }
    list.style.display = "";
  });
}

function newComment() {
  const value = (id) => document.getElementById(id).value;
  const comment = {
    token: TOKEN,
    url: STACOSYS_PAGE,
    author: value("author"),
    email: value("email"),
    site: value("site"),
    captcha: value("captcha"),
    subscribe: value("subscribe"),
    message: value("message"),
  };
  ask("POST", "/comments", JSON.stringify(comment), () => (location = "/redirect.html?p=" + STACOSYS_PAGE));
}

window.onload = () => {
  for (const counter of document.getElementsByClassName("comments-counter")) {
    const path = counter.textContent;
    ask("GET", "/comments/count?token=" + TOKEN + "&url=" + path, null, (text) => {
      counter.textContent = JSON.parse(text).count + " commentaires";
      counter.style.display = "";
    });
  }
  if (!STACOSYS_PAGE) return;
  ask("GET", "/comments/count?token=" + TOKEN + "&url=" + STACOSYS_PAGE, null, (text) => {
    if (JSON.parse(text).count) document.getElementById("show-comments-button").style.display = "";
  });
  document.querySelector("#show-comments-button a").onclick = showComments;
  document.getElementById("send").onclick = newComment;
};
