type Credentials = { accessKeyId: string; secretAccessKey: string; sessionToken?: string };

/**
 * Replaces @aws-sdk/credential-provider-node in the bundles. Lambda gives a function the credentials of its role in the
 * environment only. The SDK also looks in profiles, SSO, STS and metadata services. Loading the code for these would
 * take 130 kB and a quarter of the start-up time.
 */
export const defaultProvider = () => async (): Promise<Credentials> => {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) throw new Error("There are no AWS credentials in the environment.");
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN ? { sessionToken: AWS_SESSION_TOKEN } : {}),
  };
};
