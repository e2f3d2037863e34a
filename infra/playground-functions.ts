import { catalogue } from "../functions/code/catalogue.ts";
import { parametersOf } from "../functions/code/signature.ts";

/** What the playground completes: every function with its parameters, known before anybody has a token. */
export const playgroundFunctions = (): object[] =>
  [...catalogue.values()].map((fn) => ({
    name: fn.route.name,
    summary: fn.route.summary,
    access: fn.route.access,
    parameters: parametersOf(fn).map(({ name, type, required, description }) => ({
      name,
      type,
      required,
      description,
    })),
  }));
