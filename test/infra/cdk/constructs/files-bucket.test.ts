import { expect, test } from "vitest";

import { only, spec, synthesize } from "../synthesis.ts";

const template = synthesize([spec("me.get")]);
const [bucketId, bucket] = only(template, "AWS::S3::Bucket");

test("the bucket outlives the stack, and its logical id in the template stays the same", () => {
  expect(bucketId).toBe("FilesBucket");
  expect(bucket).toMatchObject({ DeletionPolicy: "Retain", UpdateReplacePolicy: "Retain" });
});

test("files are encrypted, in one version, and nothing in the bucket can be made public", () => {
  expect(bucket["Properties"]).toMatchObject({
    BucketEncryption: {
      ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: "AES256" } }],
    },
    OwnershipControls: { Rules: [{ ObjectOwnership: "BucketOwnerEnforced" }] },
    PublicAccessBlockConfiguration: {
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    },
  });
  expect(bucket["Properties"]).not.toHaveProperty("VersioningConfiguration");
});

test("no invoice expires; an export is deleted after a week, and an unfinished upload after a day", () => {
  expect(bucket["Properties"].LifecycleConfiguration.Rules).toEqual([
    { AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 }, Status: "Enabled" },
    { ExpirationInDays: 7, Prefix: "exports/", Status: "Enabled" },
  ]);
});

test("the bucket's own policy allows nothing, and denies every request without TLS", () => {
  const [, policy] = only(template, "AWS::S3::BucketPolicy");
  expect(policy["Properties"].Bucket).toEqual({ Ref: bucketId });
  const arn = { "Fn::GetAtt": [bucketId, "Arn"] };
  expect(policy["Properties"].PolicyDocument.Statement).toEqual([
    {
      Action: "s3:*",
      Condition: { Bool: { "aws:SecureTransport": "false" } },
      Effect: "Deny",
      Principal: { AWS: "*" },
      Resource: [arn, { "Fn::Join": ["", [arn, "/*"]] }],
    },
  ]);
});
