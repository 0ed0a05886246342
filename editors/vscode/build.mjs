// Bundles the extension into dist/extension.js; with --tests, each test into dist/test.
import { build } from "esbuild";
import { copyFileSync, readdirSync, rmSync } from "node:fs";

const shared = { bundle: true, platform: "node", format: "cjs", target: "node20", external: ["vscode"] };

if (process.argv.includes("--tests")) {
  rmSync("dist/test", { recursive: true, force: true });
  const tests = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  await build({ ...shared, entryPoints: tests.map((name) => `test/${name}`), outdir: "dist/test" });
} else {
  copyFileSync("../../LICENSE", "LICENSE");
  await build({ ...shared, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js", minify: true });
}
