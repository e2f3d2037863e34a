import { pathToFileURL } from "node:url";

/** The value of `import.meta.url` in CommonJS bundles, which lack it. Injected only into bundles that need it. */
export const importMetaUrl = /* @__PURE__ */ (() => pathToFileURL(__filename).href)();
