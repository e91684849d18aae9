// Bundles each framework with the module that mounts our elements by it.
//
//   node build.mjs SOURCES OUTPUT     in a folder that has node_modules

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";

const [sources, output] = process.argv.slice(2);
const require = createRequire(join(process.cwd(), "node_modules", "_"));
const esbuild = require("esbuild");
const { compile } = require("svelte/compiler");

const svelte = {
  name: "svelte",
  setup(build) {
    build.onLoad({ filter: /\.svelte$/ }, async ({ path }) => {
      const { js } = compile(await readFile(path, "utf8"), { filename: path });
      return { contents: js.code, resolveDir: sources };
    });
  },
};

async function bundle(name, source = name, alias = {}) {
  await esbuild.build({
    entryPoints: [join(sources, `${source}.js`)],
    outfile: join(output, `${name}.js`),
    bundle: true,
    format: "iife",
    globalName: "framework",
    conditions: ["browser"],
    nodePaths: [join(process.cwd(), "node_modules")],
    define: {
      "process.env.NODE_ENV": '"development"',
      __VUE_OPTIONS_API__: "true",
      __VUE_PROD_DEVTOOLS__: "false",
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false",
    },
    alias,
    plugins: [svelte],
    logLevel: "error",
  });
}

await Promise.all([
  bundle("react19", "react"),
  bundle("react18", "react", { react: "react18", "react-dom": "react-dom18" }),
  ...["preact", "vue", "solid", "svelte", "lit", "angular", "hydration"].map((name) => bundle(name)),
]);
