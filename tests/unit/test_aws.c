/* SPDX-License-Identifier: BSD-3-Clause */
/* test_aws.c - settings of an object store in the environment and ~/.aws */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "words/aws.h"

static char home[] = "/tmp/b2f-aws.XXXXXX";
static char reason[B2F_AWS_REASON];
static struct b2f_aws aws;

static void write_file(const char *name, const char *text)
{
	char path[80];
	FILE *f;

	snprintf(path, sizeof(path), "%s/.aws/%s", home, name);
	f = fopen(path, "w");
	cr_assert_not_null(f);
	cr_assert_geq(fputs(text, f), 0);
	cr_assert_eq(fclose(f), 0);
}

static void setup(void)
{
	static const char *const names[] = {
		"AWS_ACCESS_KEY_ID",
		"AWS_SECRET_ACCESS_KEY",
		"AWS_SESSION_TOKEN",
		"AWS_REGION",
		"AWS_DEFAULT_REGION",
		"AWS_PROFILE",
		"AWS_ENDPOINT_URL",
		"AWS_ENDPOINT_URL_S3",
		"AWS_ENDPOINT_URL_STS",
		"AWS_ENDPOINT_URL_SSO",
		"AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_ROLE_ARN",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
		"AWS_CONFIG_FILE",
		"AWS_SHARED_CREDENTIALS_FILE"};
	char path[80];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	cr_assert_not_null(mkdtemp(home));
	setenv("HOME", home, 1);
	/* No test sends requests to another machine. */
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	snprintf(path, sizeof(path), "%s/.aws", home);
	cr_assert_eq(mkdir(path, 0700), 0);
}

static void teardown(void)
{
	char command[80];

	b2f_aws_fini(&aws);
	cr_assert_null(aws.keys.secret_key);
	snprintf(command, sizeof(command), "rm -r %s", home);
	cr_assert_eq(system(command), 0);
}

TestSuite(aws, .init = setup, .fini = teardown);

static int read_with(const char *profile, const char *region,
		     const char *endpoint)
{
	const struct b2f_aws_options options = {
		.profile = profile, .region = region, .endpoint = endpoint};

	b2f_aws_fini(&aws);
	return b2f_aws_read(&options, &aws, reason);
}

Test(aws, nothing_given_is_a_public_bucket)
{
	cr_assert_eq(read_with(NULL, NULL, NULL), 0);
	cr_assert_null(aws.keys.access_key);
	cr_assert_null(aws.endpoint);
	cr_assert_str_eq(aws.region, "us-east-1");
	unsetenv("HOME");
	cr_assert_eq(read_with(NULL, NULL, NULL), 0);
}

Test(aws, options_go_before_the_environment_and_that_before_files)
{
	write_file("credentials", "[default]\naws_access_key_id = file\n"
				  "aws_secret_access_key=file secret\n"
				  "aws_session_token=file token\n");
	write_file("config", "[default]\nregion = far\n"
			     "endpoint_url=http://file\n");
	cr_assert_eq(read_with(NULL, NULL, NULL), 0);
	cr_assert_str_eq(aws.keys.access_key, "file");
	cr_assert_str_eq(aws.keys.secret_key, "file secret");
	cr_assert_str_eq(aws.keys.session_token, "file token");
	cr_assert_str_eq(aws.region, "far");
	cr_assert_str_eq(aws.endpoint, "http://file");
	setenv("AWS_ACCESS_KEY_ID", "env", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "env secret", 1);
	setenv("AWS_DEFAULT_REGION", "near", 1);
	setenv("AWS_ENDPOINT_URL", "http://env", 1);
	cr_assert_eq(read_with(NULL, NULL, NULL), 0);
	cr_assert_str_eq(aws.keys.access_key, "env");
	cr_assert_str_eq(aws.keys.secret_key, "env secret");
	/* A token that belongs to another key is not taken. */
	cr_assert_null(aws.keys.session_token);
	cr_assert_str_eq(aws.region, "near");
	cr_assert_str_eq(aws.endpoint, "http://env");
	setenv("AWS_REGION", "nearer", 1);
	setenv("AWS_ENDPOINT_URL_S3", "http://s3", 1);
	cr_assert_eq(read_with(NULL, NULL, NULL), 0);
	cr_assert_str_eq(aws.region, "nearer");
	cr_assert_str_eq(aws.endpoint, "http://s3");
	cr_assert_eq(read_with("default", "here", "http://option"), 0);
	cr_assert_str_eq(aws.keys.access_key, "file");
	cr_assert_str_eq(aws.region, "here");
	cr_assert_str_eq(aws.endpoint, "http://option");
}

Test(aws, no_keys_are_taken_if_none_are_wanted)
{
	const struct b2f_aws_options options = {.no_keys = true};

	write_file("config", "[default]\nregion = far\nrole_arn = x\n");
	cr_assert_eq(read_with(NULL, NULL, NULL), -EOPNOTSUPP);
	b2f_aws_fini(&aws);
	cr_assert_eq(b2f_aws_read(&options, &aws, reason), 0);
	cr_assert_null(aws.keys.access_key);
	cr_assert_str_eq(aws.region, "far");
	b2f_aws_fini(&aws);
	write_file("credentials", "[default]\naws_access_key_id = file\n"
				  "aws_secret_access_key=file secret\n");
	setenv("AWS_ACCESS_KEY_ID", "env", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "env secret", 1);
	cr_assert_eq(b2f_aws_read(&options, &aws, reason), 0);
	cr_assert_null(aws.keys.access_key);
	cr_assert_null(aws.keys.secret_key);
}

Test(aws, profiles_are_sections)
{
	char long_line[10000];

	memset(long_line, 'x', sizeof(long_line) - 1);
	long_line[sizeof(long_line) - 1] = '\0';
	write_file("credentials", long_line);
	write_file("config",
		   "# of the lab\n[default]\nregion=a\r\n[profile  lab ]\r\n"
		   "region = b\r\ns3 =\r\n  region = indented\r\n"
		   "aws_access_key_id=k=1\naws_secret_access_key=s\n"
		   "[profile other]\nregion=c\n[profile role]\n"
		   "role_arn=arn:x\n[broken\nregion=d\n");
	setenv("AWS_PROFILE", "lab", 1);
	cr_assert_eq(read_with(NULL, NULL, NULL), 0);
	cr_assert_str_eq(aws.region, "b");
	cr_assert_str_eq(aws.keys.access_key, "k=1");
	cr_assert_eq(read_with("other", NULL, NULL), 0);
	cr_assert_str_eq(aws.region, "c");
	cr_assert_eq(read_with("none", NULL, NULL), -ENOENT);
	cr_assert_str_eq(reason, "profile none: there is none");
	cr_assert_eq(read_with("role", NULL, NULL), -EOPNOTSUPP);
	cr_assert_not_null(strstr(reason, "role_arn"));
	setenv("AWS_CONFIG_FILE", "/dev/null/none", 1);
	cr_assert_eq(read_with("lab", NULL, NULL), -ENOENT);
}

Test(aws, half_a_key_is_refused_and_not_told)
{
	setenv("AWS_ACCESS_KEY_ID", "AKIAKEY", 1);
	cr_assert_eq(read_with(NULL, NULL, NULL), -EINVAL);
	cr_assert_null(strstr(reason, "AKIA"));
	unsetenv("AWS_ACCESS_KEY_ID");
	setenv("AWS_SECRET_ACCESS_KEY", "SECRET", 1);
	cr_assert_eq(read_with(NULL, NULL, NULL), -EINVAL);
	cr_assert_null(strstr(reason, "= SECRET"));
	unsetenv("AWS_SECRET_ACCESS_KEY");
	write_file("credentials", "[default]\naws_secret_access_key = SECRET\n");
	cr_assert_eq(read_with(NULL, NULL, NULL), -EINVAL);
	cr_assert_str_eq(reason, "profile default: a secret key without an "
				 "access key");
	setenv("AWS_CONFIG_FILE", home, 1);
	cr_assert_eq(read_with(NULL, NULL, NULL), -EISDIR);
}

Test(aws, services_of_a_profile_have_endpoints)
{
	write_file("config",
		   "[services lab]\nsts =\n  endpoint_url = http://sts\n"
		   "s3 =\n  endpoint_url = http://s3\n  other = x\n"
		   "[services elsewhere]\ns3 =\n  endpoint_url = http://wrong\n"
		   "[profile a]\nservices = lab\nendpoint_url = http://all\n"
		   "[profile b]\nservices = none\n"
		   "[profile c]\ns3 =\n  endpoint_url = http://nested\n");
	cr_assert_eq(read_with("a", NULL, NULL), 0);
	cr_assert_str_eq(aws.endpoint, "http://s3");
	setenv("AWS_ENDPOINT_URL", "http://env", 1);
	cr_assert_eq(read_with("a", NULL, NULL), 0);
	cr_assert_str_eq(aws.endpoint, "http://env");
	unsetenv("AWS_ENDPOINT_URL");
	cr_assert_eq(read_with("b", NULL, NULL), -ENOENT);
	cr_assert_str_eq(reason, "profile b: there is no section "
				 "[services none]");
	cr_assert_eq(read_with("c", NULL, NULL), 0);
	cr_assert_null(aws.endpoint);
}

Test(aws, a_program_that_others_may_name_is_not_run)
{
	char command[200], path[100];

	snprintf(command, sizeof(command),
		 "[default]\ncredential_process = touch %s/.aws/ran; echo "
		 "'{\"Version\": 1, \"AccessKeyId\": \"k\", "
		 "\"SecretAccessKey\": \"s\"}'\n",
		 home);
	write_file("config", command);
	snprintf(path, sizeof(path), "%s/.aws/config", home);
	cr_assert_eq(chmod(path, 0666), 0);
	cr_assert_eq(read_with(NULL, NULL, NULL), -EACCES);
	cr_assert_not_null(strstr(reason, "may write to"));
	snprintf(path, sizeof(path), "%s/.aws/ran", home);
	cr_assert_neq(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%s/.aws/config", home);
	cr_assert_eq(chmod(path, 0600), 0);
	cr_assert_eq(read_with(NULL, NULL, NULL), 0);
	cr_assert_str_eq(aws.keys.access_key, "k");
	if (geteuid() != 0)
		return;
	cr_assert_eq(chown(path, 1234, 1234), 0);
	cr_assert_eq(read_with(NULL, NULL, NULL), -EACCES);
}

Test(aws, a_container_is_asked_by_tls_or_here)
{
	static const char *const urls[] = {
		"http://example.com/keys", "http://127.0.0.1.example.com/",
		"http://127.0.0.1@example.com/", "ftp://127.0.0.1/",
		"http://169.254.170.200/", "http://169.254.170.2:80@x/"};

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", urls[i], 1);
		cr_assert_eq(read_with(NULL, NULL, NULL), -EACCES);
		cr_assert_not_null(strstr(reason, "neither"), "%s", urls[i]);
	}
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/", 1);
	cr_assert_eq(read_with(NULL, NULL, NULL), -EHOSTUNREACH);
	cr_assert_null(strstr(reason, "neither"));
}

Test(aws, where_keys_were_looked_for_is_told)
{
	cr_assert_eq(read_with(NULL, NULL, NULL), 0);
	cr_assert_str_eq(aws.tried,
			 "AWS_ACCESS_KEY_ID, AWS_WEB_IDENTITY_TOKEN_FILE, "
			 "profile default, AWS_CONTAINER_CREDENTIALS_*, the "
			 "instance (IMDS)");
	setenv("AWS_EC2_METADATA_DISABLED", "false", 1);
	setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1", 1);
	cr_assert_eq(read_with(NULL, NULL, NULL), 0);
	cr_assert_not_null(aws.tried);
}
