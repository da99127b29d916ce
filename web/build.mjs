// Builds the report page: one HTML file with its style and script inlined, which
// package report embeds.
//
//   node build.mjs           ../report/page/index.html
//   node build.mjs --tests   build/tests.mjs, the unit tests for node --test
import { build } from "esbuild";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

process.chdir(dirname(fileURLToPath(import.meta.url)));

// The browsers of Debian 12 and newer; older ones say so themselves.
const target = ["es2021", "chrome100", "firefox100", "safari15"];

async function bundled(entry) {
  const result = await build({ entryPoints: [entry], bundle: true, minify: true, write: false, format: "iife", target, legalComments: "inline" });
  return result.outputFiles[0].text;
}

// A function as the replacement: "$&" in the code must stay as it is.
function fill(template, mark, text) {
  if (template.split(mark).length !== 2) throw new Error(`src/index.html must have ${mark} once`);
  return template.replace(mark, () => text);
}

if (process.argv.includes("--tests")) {
  const tests = (await readdir("test")).filter((name) => name.endsWith(".test.ts"));
  const stdin = { contents: tests.map((name) => `import "./test/${name}";`).join("\n"), resolveDir: ".", loader: "ts" };
  await build({ stdin, bundle: true, platform: "node", format: "esm", target: "node18", outfile: "build/tests.mjs", sourcemap: "inline" });
} else {
  let page = await readFile("src/index.html", "utf8");
  page = fill(page, "/*style*/", await bundled("src/style.css"));
  const script = await bundled("src/main.ts");
  if (/<\/script/i.test(script)) throw new Error("the script would end its own element");
  page = fill(page, "/*script*/", script);
  // The page is a copy of uPlot, whose licence wants to be in every copy.
  const { version } = JSON.parse(await readFile("node_modules/uplot/package.json", "utf8"));
  const licence = (await readFile("node_modules/uplot/LICENSE", "utf8")).trim();
  if (licence.includes("--")) throw new Error("uPlot's licence does not fit into a comment");
  page = fill(page, "<!--licences-->", `<!-- Made by nines, Apache-2.0. It contains uPlot ${version}:\n\n${licence}\n-->`);
  const out = "../report/page/index.html";
  await mkdir(dirname(out), { recursive: true });
  await writeFile(out, page);
  console.log(`${out.slice(3)}: ${Math.round(page.length / 1024)} KiB`);
}
