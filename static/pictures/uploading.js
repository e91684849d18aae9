// Uploading a picture for a comment

import { h, storage } from "../common.js";
import { replace } from "../form/formatting.js";
import { send } from "../send.js";

const SIDE = 1600; // pixels that the service keeps; more need not be sent

/** Upload a picture; return a function that inserts it into the form's text. */
export async function upload({ about, element, token }, file, description) {
  const query = new URLSearchParams({ url: about.url, lang: about.messages.tag });
  const sent = await shrink(file);
  if (sent.size > token.images) throw { status: 413 }; // a proxy's answer could not be read
  const { image, url } = await send("POST", "images?" + query, sent, storage.get("reader")?.token);
  element.pictures.set(url, await createImageBitmap(file).catch(() => {}));
  const alt = description.replace(/[\\[\]<>*_`~$&!]/g, "\\$&");
  return () => replace(element.message, `![${alt}](${image})`);
}

/** Show in a preview what the service shows only when the comment is approved. */
export function showPictures(element, pictures) {
  for (const image of element.querySelectorAll("img")) {
    const bitmap = pictures.get(image.src);
    const properties = { role: "img", ariaLabel: image.alt };
    if (bitmap) image.replaceWith(Object.assign(draw(bitmap, SIDE), properties));
  }
}

/** Return a canvas with a picture whose longer side has at most that many pixels. */
export function draw(bitmap, side) {
  const scale = Math.min(1, side / Math.max(bitmap.width, bitmap.height));
  const canvas = h("canvas", { width: bitmap.width * scale, height: bitmap.height * scale });
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas;
}

/** Return a smaller picture, without what the camera noted; the file itself if it is small. */
async function shrink(file) {
  try {
    const bitmap = await createImageBitmap(file);
    if (Math.max(bitmap.width, bitmap.height) <= SIDE) return file;
    return await new Promise((done) => {
      const use = (blob) => done(blob?.size < file.size ? blob : file);
      draw(bitmap, SIDE).toBlob(use, "image/webp", 0.9);
    });
  } catch {
    return file; // the service says what is wrong with it
  }
}
