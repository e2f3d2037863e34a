import { pathToFileURL } from "node:url";

/**
 * The value of `import.meta.url` for CommonJS bundles, which have no such value. The build injects this value only into
 * bundles that need it.
 */
export const importMetaUrl = /* @__PURE__ */ (() => pathToFileURL(__filename).href)();
