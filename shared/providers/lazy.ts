import { absenceOf, type Feature } from "../core/features.ts";

/**
 * A provider that is not loaded at import, because most functions never call the provider. Each call of a method runs
 * `load` first. `calls` names every method of the provider. Each method returns a promise.
 */
export const lazy = <T extends object>(calls: Readonly<Record<keyof T, true>>, load: () => Promise<T>): T =>
  Object.fromEntries(
    Object.keys(calls).map((name) => [
      name,
      async (...args: readonly unknown[]): Promise<unknown> => {
        const provider = await load();
        const call: unknown = Reflect.get(provider, name);
        if (typeof call !== "function") throw new TypeError(`The provider has no method ${name}.`);
        return Reflect.apply(call, provider, args);
      },
    ]),
  ) as T;

/**
 * The `load` for a provider that the environment does not configure. Every call of the provider throws an Error with
 * this message.
 */
export const unconfigured = (message: string) => (): Promise<never> => Promise.reject(new Error(message));

/**
 * The `load` for a provider of a feature that the deployment lacks. Every call of the provider throws the 409 of the
 * feature.
 */
export const lacking = (feature: Feature) => (): Promise<never> => Promise.reject(absenceOf(feature));
