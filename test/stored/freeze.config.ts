import { mergeConfig } from "vitest/config";

import config from "../../vitest.config.ts";

const { projects: _, ...test } = config.test ?? {};

/** `npm run freeze`: writes the rows of the edition at hand, for `stored-rows.test.ts` to read for ever. */
export default mergeConfig({ test }, { test: { include: ["test/stored/freeze.ts"] } });
