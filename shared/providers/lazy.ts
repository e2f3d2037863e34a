/**
 * A provider that is loaded at its first call, as most functions never call it. Every member of a provider must be a
 * function that answers a promise.
 */
export const lazy = <T extends object>(load: () => Promise<T>): T =>
  new Proxy<T>({} as T, {
    get: (_, name) =>
      // A promise may resolve to a provider, so the provider must not look like a promise itself.
      name === "then"
        ? undefined
        : async (...args: readonly unknown[]): Promise<unknown> => {
            const provider = await load();
            const call: unknown = Reflect.get(provider, name);
            if (typeof call !== "function") throw new TypeError(`A provider has no ${String(name)}.`);
            return Reflect.apply(call, provider, args);
          },
  });

/** A loader for a provider that the environment does not configure: every call throws an Error with this message. */
export const unconfigured = (message: string) => (): Promise<never> => Promise.reject(new Error(message));
