import { JwtVerifier } from "aws-jwt-verify";

const [{ issuer, audience, jwks }] = JSON.parse(process.env.ISSUERS);
const jwksUri = "https://localhost/keys";
const verifier = JwtVerifier.create({ issuer, audience, jwksUri });
verifier.cacheJwks(jwks);

/**
 * A handler that lets nobody in without the product's own kind of token, verified by the library that the product uses.
 */
export const verified = (handler) => async (event, context) => {
  await verifier.verify(event.headers.authorization.slice("Bearer ".length));
  return handler(event, context);
};
