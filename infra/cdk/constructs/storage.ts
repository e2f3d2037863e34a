import { Duration, RemovalPolicy, Validations } from "aws-cdk-lib";
import { BackupPlan, BackupPlanRule, BackupResource, BackupVault } from "aws-cdk-lib/aws-backup";
import { AttributeType, BillingMode, StreamViewType, Table, TableEncryption } from "aws-cdk-lib/aws-dynamodb";
import { Schedule } from "aws-cdk-lib/aws-events";
import { Role, ServicePrincipal, ManagedPolicy } from "aws-cdk-lib/aws-iam";
import { Key } from "aws-cdk-lib/aws-kms";
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership } from "aws-cdk-lib/aws-s3";
import type { Construct } from "constructs";

import { sealingKeyAlias } from "../../config/config.ts";
import type { Backup } from "../../config/settings.ts";
import { setLogicalId } from "./logical-id.ts";

/** The logical id of the bucket: its name in the template. */
export const filesBucketId = "FilesBucket";

/**
 * Adds the private bucket for the files that customers download. The bucket accepts only TLS, and outlives the stack.
 */
export function addFilesBucket(scope: Construct): Bucket {
  const bucket = new Bucket(scope, "Files", {
    encryption: BucketEncryption.S3_MANAGED,
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
    enforceSSL: true,
    lifecycleRules: [
      { abortIncompleteMultipartUploadAfter: Duration.days(1) },
      { prefix: "exports/", expiration: Duration.days(7) },
    ],
    removalPolicy: RemovalPolicy.RETAIN,
  });
  Validations.of(bucket).acknowledge({
    id: "AwsSolutions-S1",
    reason:
      "Only one worker writes. A reader needs a signed URL, valid for an hour. The API logs each request for a signed URL.",
  });
  return setLogicalId(bucket, filesBucketId);
}

/**
 * Adds the key that seals secrets. The key outlives the stack, because no sealed secret could ever be opened without
 * the key. The key is a multi-Region key: a replica in another region can open the secrets there.
 *
 * KMS refuses to make an existing key a multi-Region key. So the logical id and the alias of this key differ from those
 * of `SecretsKey`, the key of earlier versions. When a stage of an earlier version is deployed again, the stage gets
 * this key, and keeps the former key.
 */
export const addSecretsKey = (scope: Construct, stage: string): Key =>
  new Key(scope, "SealingKey", {
    alias: sealingKeyAlias(stage),
    description: "Seals the secrets in the table",
    enableKeyRotation: true,
    multiRegion: true,
    removalPolicy: RemovalPolicy.RETAIN,
  });

/**
 * Adds the product's only table. The table outlives the stack: neither deleting nor renaming the stack deletes the
 * data. `restoredTable` is the name of a table that a restore has made. CloudFormation imports this table into the
 * stack, and keeps the former table outside the stack. docs/operations.md describes the restore.
 */
export const addTable = (scope: Construct, restoredTable?: string): Table =>
  new Table(scope, restoredTable === undefined ? "Table" : `Table.${restoredTable}`, {
    ...(restoredTable === undefined ? {} : { tableName: restoredTable }),
    partitionKey: { name: "PK", type: AttributeType.STRING },
    sortKey: { name: "SK", type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    encryption: TableEncryption.AWS_MANAGED,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    stream: StreamViewType.NEW_AND_OLD_IMAGES,
    timeToLiveAttribute: "ttl",
    deletionProtection: true,
    removalPolicy: RemovalPolicy.RETAIN,
  });

/**
 * Adds a daily backup of the table to a locked vault, and a copy of each backup to the vaults in `copyTo`. The locked
 * vault outlives the stack. While the lock exists, nobody can delete a backup that is younger than `keepDays` days.
 */
export function addBackup(scope: Construct, table: Table, stage: string, backup: Backup): void {
  const { keepDays, lock, lockDays, copyTo } = backup;
  const retention = Duration.days(keepDays);
  const vault = new BackupVault(scope, "BackupVault", {
    backupVaultName: `hosted-mail-${stage}`,
    lockConfiguration: {
      minRetention: retention,
      // Without `changeableFor`, everybody with the IAM right can remove the lock. AWS calls this governance mode.
      ...(lock === "compliance" ? { changeableFor: Duration.days(lockDays) } : {}),
    },
    removalPolicy: RemovalPolicy.RETAIN,
  });
  const copyActions = copyTo.map((arn, index) => ({
    destinationBackupVault: BackupVault.fromBackupVaultArn(scope, `BackupCopy${index}`, arn),
    deleteAfter: retention,
  }));
  const plan = new BackupPlan(scope, "BackupPlan", { backupPlanName: `hosted-mail-${stage}`, backupVault: vault });
  plan.addRule(
    new BackupPlanRule({
      ruleName: "daily",
      scheduleExpression: Schedule.cron({ hour: "3", minute: "0" }),
      deleteAfter: retention,
      copyActions,
    }),
  );
  const role = new Role(scope, "BackupRole", {
    assumedBy: new ServicePrincipal("backup.amazonaws.com"),
    managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName("service-role/AWSBackupServiceRolePolicyForBackup")],
  });
  Validations.of(role).acknowledge({
    id: "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSBackupServiceRolePolicyForBackup]",
    reason: "AWS extends this policy when AWS Backup needs another right. Only AWS Backup can use the role.",
  });
  plan.addSelection("Table", { resources: [BackupResource.fromDynamoDbTable(table)], role });
}
