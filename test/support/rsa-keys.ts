import crypto, { type KeyPairKeyObjectResult } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { promisify } from "node:util";

/*
 * Gives each domain of the tests one of a few RSA keys in turn, instead of a new key. To find the primes of a key takes
 * 40 ms of processor time. Import this module before the product.
 */

/** The number of keys. It is large enough that domains made one after another have different keys. */
const keysOfProcess = 8;

const newPair = promisify(crypto.generateKeyPair) as (type: string, options: object) => Promise<KeyPairKeyObjectResult>;
const pairs: Promise<KeyPairKeyObjectResult>[] = [];
let taken = 0;

const pairOf: typeof newPair = (type, options) => {
  if (JSON.stringify([type, options]) !== '["rsa",{"modulusLength":2048}]') return newPair(type, options);
  const place = taken % keysOfProcess;
  taken += 1;
  return (pairs[place] ??= newPair(type, options));
};

const generate = crypto.generateKeyPair.bind(crypto);
crypto.generateKeyPair = Object.assign(generate, { [promisify.custom]: pairOf }) as typeof crypto.generateKeyPair;
syncBuiltinESMExports();
