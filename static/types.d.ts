// What the scripts pass to each other, for `tsc --checkJs`. No browser loads this file.

import { CommentThread, Thread } from "./comments.js";
import type { CommentCount } from "./count.js";
import type { OwnComments } from "./thread/own_comments.js";
import type { LatestComments } from "./latest.js";
import type { CommentSearch } from "./search.js";
import type { CommentCorrections } from "./corrections.js";
import type { PopularPages } from "./popular.js";
import type { PageReactions } from "./reactions.js";
import type { PageViews } from "./views.js";

export { CommentThread };

/** A comment as the service sends it, with what `own_comments.js` adds. */
export interface Comment {
  id: number;
  parent: number | null;
  author: string;
  avatar: string;
  picture?: string;
  site?: string;
  role?: "owner" | "moderator";
  permalink?: string;
  verified?: boolean;
  initial?: string;
  content: string;
  html: string;
  published: string;
  edited?: string;
  pinned?: boolean;
  deleted?: boolean;
  anchor?: string;
  votes: number;
  reactions?: Record<string, number>;
  lang?: string;
  own?: OwnComment;
  isWaiting?: boolean;
  note?: string;
}

/** What the service answers to a comment of the reader. */
export interface Answer {
  status: "approved" | "pending" | "deleted";
  comment: Comment;
  token?: string;
  token_expires?: string;
  replies_feed?: string;
}

/** An answer that the browser keeps. */
export interface OwnComment extends Answer {
  url: string;
}

/** A part of a comment thread. */
export interface CommentPage {
  data: Comment[];
  count: number;
  deleted?: Comment[];
  next?: string;
  closes?: string;
  voting?: "up" | "both" | "reactions";
  emoji?: string[]; // those with which readers may react to comments
  votes?: Record<string, number>;
  reactions?: Record<string, Record<string, number>>;
  likes?: number;
  reposts?: number;
  posts?: string[];
}

/** What the service tells of pages in a list, by url, and of their site. */
export interface PageCounts {
  counts: Record<string, number | null>;
  reactions?: Record<string, Record<string, number>>;
  latest?: LatestComment[];
  popular?: Record<string, PopularPage[]>;
  views?: Record<string, number>;
  viewed?: PopularPage[];
}

/** A page with the number of its comments, or of its views. */
export interface PopularPage {
  link: string;
  title: string;
  count?: number;
  views?: number;
}

export interface LatestComment {
  id: number;
  author: string;
  excerpt: string;
  link: string;
  title: string;
  published: string;
}

/** The texts of a language; "#" stands for a number or name. */
export interface Messages extends Record<string, any> {
  tag: string;
  counts: Record<string, string>;
  digits: string | undefined; // those of the language, if they are others than 0 to 9
}

/** What a form needs to know. */
export interface About {
  thread: Thread;
  messages: Messages;
  url: string;
  title?: string;
  parent?: Comment;
  own?: OwnComment;
  message?: string;
  sent?: (text: string) => void; // after a private note: it makes none else
}

/** What the service gives a form before it sends. */
export interface FormToken {
  form_token?: string;
  proof_of_work?: Challenge;
  solution?: string;
  length?: number;
  notify?: boolean;
  sign_in?: boolean;
  images?: number; // bytes of a picture
  by_mail?: boolean;
  notes?: boolean;
  asks?: Asks;
}

/** What a site asks for, if it is not the usual. */
export interface Asks {
  author?: "hidden" | "optional";
  email?: "hidden" | "required";
  site?: "hidden" | "required";
  agreement?: string;
  guidelines?: string; // HTML
  members_only?: boolean;
}

export interface Challenge {
  parameters: {
    nonce: string;
    salt: string;
    cost: number;
    keyLength: number;
    keyPrefix: string;
  };
}

/** Why the service did not do what it was asked for. */
export interface Failure {
  status: number | "unreached" | "offline";
  retryAfter?: string | null;
  message?: string;
  fields?: Record<string, string>;
}

/** The `<li>` of a comment. */
export interface CommentItem extends HTMLLIElement {
  commentId: number;
  fold: HTMLDetailsElement;
  replies: HTMLOListElement;
  state?: string;
  answers: number;
}

// The properties that are not declared in classes; those of elements are attributes
declare module "./comments.js" {
  /** The comments of one page; with other attributes, the element gets another thread. */
  interface Thread {
    host: CommentThread;
    url: string;
    messages: Messages;
    page: CommentPage; // the last answer
    own?: OwnComments;
    closed: boolean;
    target: string; // the fragment of the page's address, until the thread is scrolled there
  }
  interface CommentThread {
    url: string;
    sort: "oldest" | "newest" | "top";
    depth: number;
    load: "" | "click";
    form: "" | "top" | "bottom";
    closed: boolean;
  }
}
declare module "./lists.js" {
  interface OtherElement {
    site?: string;
    render(answer: PageCounts): Promise<HTMLElement | undefined>;
  }
}
declare module "./latest.js" {
  interface LatestComments {
    site: string;
    limit: number;
  }
}
declare module "./corrections.js" {
  interface CommentCorrections {
    url: string;
  }
}

declare module "./search.js" {
  interface CommentSearch {
    url: string;
    site: string;
  }
}
declare module "./popular.js" {
  interface PopularPages {
    site: string;
    limit: number;
    period: "day" | "week" | "month" | "year";
    by: "" | "views";
  }
}
declare module "./views.js" {
  interface PageViews {
    count: boolean;
  }
}

declare global {
  interface Document {
    prerendering?: boolean;
  }
  interface Window {
    trustedTypes?: { createPolicy(name: string, rules: object): { createHTML(html: string): string } };
  }
  interface ParentNode {
    querySelector(name: "[rel~=commentsvc]"): HTMLLinkElement | null;
  }
  interface HTMLElementTagNameMap {
    "comment-thread": CommentThread;
    "comment-count": CommentCount;
    "page-reactions": PageReactions;
    "latest-comments": LatestComments;
    "popular-pages": PopularPages;
    "comment-search": CommentSearch;
    "comment-corrections": CommentCorrections;
    "page-views": PageViews;
  }
}
