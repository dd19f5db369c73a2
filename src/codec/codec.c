/* SPDX-License-Identifier: BSD-3-Clause */
/* codec.c - the const table of codecs, and their states for one thread */
#include "codec/codec.h"

#include "b2frame/error.h"
#include "b2frame/names.h"

static const struct b2f_codec *const codecs[B2F_FORMATS] = {
	[B2F_FORMAT_BLOSCLZ] = &b2f_codec_blosclz,
	[B2F_FORMAT_LZ4] = &b2f_codec_lz4,
	[B2F_FORMAT_ZLIB] = &b2f_codec_zlib,
	[B2F_FORMAT_ZSTD] = &b2f_codec_zstd,
};

static const struct b2f_codec *const codecs_by_code[B2F_CODECS] = {
	[B2F_CODEC_BLOSCLZ] = &b2f_codec_blosclz,
	[B2F_CODEC_LZ4] = &b2f_codec_lz4,
	[B2F_CODEC_LZ4HC] = &b2f_codec_lz4hc,
	[B2F_CODEC_ZLIB] = &b2f_codec_zlib,
	[B2F_CODEC_ZSTD] = &b2f_codec_zstd,
};

/* Indexed by code; plugins under the codes that C-Blosc2 has registered. */
static const char *const code_names[] = {
	[B2F_CODEC_BLOSCLZ] = "blosclz",
	[B2F_CODEC_LZ4] = "lz4",
	[B2F_CODEC_LZ4HC] = "lz4hc",
	[3] = "snappy",
	[B2F_CODEC_ZLIB] = "zlib",
	[B2F_CODEC_ZSTD] = "zstd",
	[32] = "ndlz",
	[33] = "zfp-accuracy",
	[34] = "zfp-precision",
	[35] = "zfp-rate",
	[36] = "openhtj2k",
	[37] = "grok",
	[38] = "openzl",
	[39] = "j2k",
	[40] = "htj2k",
};

const struct b2f_codec *b2f_codec_by_format(unsigned int format)
{
	return format < B2F_FORMATS ? codecs[format] : NULL;
}

const struct b2f_codec *b2f_codec_by_code(unsigned int code)
{
	return code < B2F_CODECS ? codecs_by_code[code] : NULL;
}

const char *b2f_codec_code_name(unsigned int code)
{
	const char *name = NULL;

	if (code < sizeof(code_names) / sizeof(*code_names))
		name = code_names[code];
	return name ? name : "unknown";
}

void b2f_codec_states_init(struct b2f_codec_states *states)
{
	*states = (struct b2f_codec_states){.dict_format = B2F_FORMATS};
}

void b2f_codec_states_fini(struct b2f_codec_states *states)
{
	for (unsigned int format = 0; format < B2F_FORMATS; format++) {
		if (states->state[format])
			codecs[format]->state_free(states->state[format]);
	}
	b2f_codec_states_init(states);
}

/* Finds the codec of @format, and makes its state. */
static int codec_get(struct b2f_codec_states *states, unsigned int format,
		     const struct b2f_codec **out, struct b2f_why *why)
{
	const struct b2f_codec *codec = b2f_codec_by_format(format);
	int err;

	if (format == B2F_FORMAT_SNAPPY)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "the codec snappy (format 2) is not built in");
	if (!codec)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "codec format %u is not built in", format);
	if (codec->state_new && !states->state[format]) {
		err = codec->state_new(&states->state[format]);
		if (err)
			return b2f_why_set(why, err, "no memory for %s",
					   codec->name);
	}
	*out = codec;
	return 0;
}

static void dict_end(struct b2f_codec_states *states)
{
	unsigned int format = states->dict_format;

	if (format == B2F_FORMATS)
		return;
	(void)codecs[format]->dict_set(states->state[format], NULL, 0);
	states->dict_format = B2F_FORMATS;
}

int b2f_codec_states_dict(struct b2f_codec_states *states, unsigned int format,
			  const uint8_t *dict, size_t size, struct b2f_why *why)
{
	const struct b2f_codec *codec = NULL;
	int err;

	dict_end(states);
	if (!dict)
		return 0;
	err = codec_get(states, format, &codec, why);
	if (err)
		return err;
	if (!codec->dict_set)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "%s with a dictionary", codec->name);
	if (!size || size > B2F_DICT_MAX)
		return b2f_why_set(why, B2F_ECORRUPT,
				   "a dictionary of %zu bytes", size);
	err = codec->dict_set(states->state[format], dict, size);
	if (err)
		return b2f_why_set(why, err, "%s cannot use the dictionary",
				   codec->name);
	states->dict_format = format;
	return 0;
}

int b2f_codec_states_decode(struct b2f_codec_states *states,
			    unsigned int format, struct b2f_bytes src,
			    struct b2f_room dst, struct b2f_why *why)
{
	const struct b2f_codec *codec = NULL;
	int err = codec_get(states, format, &codec, why);

	if (err)
		return err;
	err = codec->decode(states->state[format], src.data, src.size, dst.data,
			    dst.size);
	if (err == -ENOMEM)
		return b2f_why_set(why, err, "no memory for %s", codec->name);
	if (err)
		return b2f_why_set(why, err,
				   "%zu bytes of %s do not give %zu bytes",
				   src.size, codec->name, dst.size);
	return 0;
}

void b2f_codec_encoders_init(struct b2f_codec_encoders *encoders)
{
	*encoders = (struct b2f_codec_encoders){0};
}

void b2f_codec_encoders_fini(struct b2f_codec_encoders *encoders)
{
	for (unsigned int code = 0; code < B2F_CODECS; code++) {
		if (encoders->state[code])
			codecs_by_code[code]->encoder_free(
				encoders->state[code]);
	}
	b2f_codec_encoders_init(encoders);
}

int64_t b2f_codec_encoders_encode(struct b2f_codec_encoders *encoders,
				  unsigned int code, unsigned int level,
				  struct b2f_bytes src, struct b2f_room dst)
{
	const struct b2f_codec *codec = b2f_codec_by_code(code);
	int err;

	if (!codec)
		return B2F_EUNSUPPORTED;
	if (!level || !src.size || !dst.size)
		return 0;
	if (!encoders->state[code]) {
		err = codec->encoder_new(&encoders->state[code]);
		if (err)
			return err;
	}
	return codec->encode(encoders->state[code], level, src.data, src.size,
			     dst.data, dst.size);
}
