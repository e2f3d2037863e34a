/**
 * A storage of the browser that never throws. If the browser refuses to store data for this site, the storage keeps
 * nothing. `open` returns the browser's storage, and throws in such a browser.
 */
export function openStorage(open: () => Storage) {
  const attempt = <T>(use: (storage: Storage) => T): T | null => {
    try {
      return use(open());
    } catch {
      return null;
    }
  };
  return {
    get: (key: string): string | null => attempt((storage) => storage.getItem(key)),
    set: (key: string, value: string): void => void attempt((storage) => storage.setItem(key, value)),
    remove: (key: string): void => void attempt((storage) => storage.removeItem(key)),
  };
}
