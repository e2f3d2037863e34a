import { createRequire, registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const typescript6 = createRequire(join(import.meta.dirname, "typescript-6/package.json")).resolve("typescript");

/**
 * Makes the generator import TypeScript 6, as it needs the compiler's API, which TypeScript 7 does not have. The
 * returned function undoes this.
 */
export function lendTypescript6(): () => void {
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      specifier === "typescript" ? next(pathToFileURL(typescript6).href, context) : next(specifier, context),
  });
  return () => hooks.deregister();
}
