// What buttons do

import { again, loadMessages, storage } from "../common.js";

const menu = () => import("./menu.js").catch(again("thread/menu"));
const replying = () => import("../form/replying.js").catch(again("form/replying"));

/** Each exports a function of that name, which gets the button's comment. */
const MODULES = {
  compose: () => import("./compose.js").catch(again("thread/compose")),
  copy: menu,
  delete: () => import("./deletion.js").catch(again("thread/deletion")),
  edit: replying,
  menu,
  mute: () => import("./muting.js").catch(again("thread/muting")),
  react: () => import("./emoji.js").catch(again("thread/emoji")),
  reply: replying,
  report: menu,
  share: menu,
  vote: () => import("./voting.js").catch(again("thread/voting")),
  write: () => import("../form/form.js").catch(again("form/form")),
};

export async function act(thread, control, { type, detail }) {
  const { host, messages, error } = thread;
  const { name } = control;
  if (type == "comment-submitted") {
    const { showSubmitted } = await import("./submitted.js").catch(again("thread/submitted"));
    showSubmitted(thread, detail, control);
  }
  if (name == "sort" && type == "input") {
    storage.set(name, control.value);
    thread.load();
  }
  if (!MODULES[name] || (type == "click") == (name == "write")) return;
  error.textContent = "";
  const accent = import("./accent.js").then(({ followLinks }) => followLinks(host), () => {});
  const [module, more] = await Promise.all([MODULES[name](), loadMessages(host, "-form"), accent]);
  Object.assign(messages, more);
    try {
    await module[name](thread, control, thread.all().get(control.closest(".commentsvc-comment")?.commentId));
  } catch (failure) {
    const { errorText } = await import("../send.js").catch(again("send"));
    control.closest(".commentsvc-actions").after(error);
    error.textContent = errorText(messages, failure);
  }
}
