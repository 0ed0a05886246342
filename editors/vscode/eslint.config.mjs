// What the compiler does not look for: promises that nobody awaits, conditions that are always true.
import js from "@eslint/js";
import typescript from "typescript-eslint";

export default typescript.config(
  { ignores: ["dist"] },
  js.configs.recommended,
  {
    files: ["src/**/*.ts", "test/**/*.ts"],
    extends: [typescript.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "no-control-regex": "off",
      "@typescript-eslint/no-floating-promises": ["error", { allowForKnownSafeCalls: [{ from: "package", name: "test", package: "node:test" }] }],
    },
  },
  {
    files: ["media/*.js", "build.mjs"],
    languageOptions: { globals: { document: "readonly", window: "readonly", Element: "readonly", HTMLElement: "readonly", acquireVsCodeApi: "readonly", process: "readonly" } },
  },
);
