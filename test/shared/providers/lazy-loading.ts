import { execFileSync } from "node:child_process";
import { resolve } from "node:path";

type Use = {
  modules: RegExp;
  /** JavaScript that makes `made` from the file's exports, which are in `provider`. */
  make: string;
  /** JavaScript that uses `made` and needs none of the modules. */
  useless?: string;
  use: string;
  env?: Record<string, string>;
};

/**
 * Uses a file of `shared/providers` in a new process. Returns:
 * - `before`: how many of the modules were loaded before the use
 * - `after`: whether the use loaded more of them
 * - `failure`: the error of the use, or null
 */
export function loadingOf(file: string, { modules, make, useless = "Promise.resolve()", use, env = {} }: Use) {
  const path = resolve(import.meta.dirname, "../../../shared/providers", file);
  const program = `
    import { registerHooks } from "node:module";
    let loaded = 0;
    registerHooks({
      load: (url, context, next) => {
        if (${String(modules)}.test(url)) loaded++;
        return next(url, context);
      },
    });
    const provider = await import(${JSON.stringify(path)});
    const made = ${make};
    await ${useless}.catch(() => {});
    const before = loaded;
    const failure = await ${use}.then(() => null, ({ code, message }) => code ?? message);
    process.stdout.write(JSON.stringify({ before, after: loaded > before, failure }));
  `;
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", program], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    encoding: "utf8",
  });
  return JSON.parse(output) as { before: number; after: boolean; failure: string | null };
}
