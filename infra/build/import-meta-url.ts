import { pathToFileURL } from "node:url";

/** What stands for `import.meta.url` in CommonJS bundles, which have none; those that need it get it injected. */
export const importMetaUrl = /* @__PURE__ */ (() => pathToFileURL(__filename).href)();
