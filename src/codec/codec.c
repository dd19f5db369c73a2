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

/* By code, as C-Blosc2 has registered them. */
static const char *const names_of_others[] = {
	[3] = "snappy",
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
	const struct b2f_codec *codec = b2f_codec_by_code(code);
	const char *name = codec ? codec->name : NULL;

	if (!name && code < sizeof(names_of_others) / sizeof(*names_of_others))
		name = names_of_others[code];
	return name ? name : "unknown";
}

void b2f_codec_states_fini(struct b2f_codec_states *states)
{
	for (unsigned int i = 0; i < B2F_FORMATS; i++)
		if (states->decoder[i])
			codecs[i]->state_free(states->decoder[i]);
	for (unsigned int i = 0; i < B2F_CODECS; i++)
		if (states->encoder[i])
			codecs_by_code[i]->encoder_free(states->encoder[i]);
	*states = (struct b2f_codec_states){.dict = NULL};
}

/* Finds the codec of @format, and makes its state. */
static int codec_get(struct b2f_codec_states *states, unsigned int format,
		     const struct b2f_codec **out, struct b2f_why *why)
{
	const struct b2f_codec *codec = b2f_codec_by_format(format);

	if (format == B2F_FORMAT_SNAPPY)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "the codec snappy (format 2) is not built in");
	if (!codec)
		return b2f_why_set(why, B2F_EUNSUPPORTED,
				   "codec format %u is not built in", format);
	if (codec->state_new && !states->decoder[format]) {
		states->decoder[format] = codec->state_new();
		if (!states->decoder[format])
			return b2f_why_set(why, -ENOMEM, "no memory for %s",
					   codec->name);
	}
	*out = codec;
	return 0;
}

static void dict_end(struct b2f_codec_states *states)
{
	const struct b2f_codec *codec = states->dict;

	if (codec)
		(void)codec->dict_set(states->decoder[codec->format], NULL, 0);
	states->dict = NULL;
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
	err = codec->dict_set(states->decoder[format], dict, size);
	if (err)
		return b2f_why_set(why, err, "%s cannot use the dictionary",
				   codec->name);
	states->dict = codec;
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
	err = codec->decode(states->decoder[format], src.data, src.size,
			    dst.data, dst.size);
	if (err == -ENOMEM)
		return b2f_why_set(why, err, "no memory for %s", codec->name);
	if (err)
		return b2f_why_set(why, err,
				   "%zu bytes of %s do not give %zu bytes",
				   src.size, codec->name, dst.size);
	return 0;
}

int64_t b2f_codec_states_encode(struct b2f_codec_states *states,
				unsigned int code, unsigned int level,
				struct b2f_bytes src, struct b2f_room dst)
{
	const struct b2f_codec *codec = b2f_codec_by_code(code);

	if (!codec)
		return B2F_EUNSUPPORTED;
	if (!level || !src.size || !dst.size)
		return 0;
	if (!states->encoder[code])
		states->encoder[code] = codec->encoder_new();
	return states->encoder[code]
		       ? codec->encode(states->encoder[code], level, src.data,
				       src.size, dst.data, dst.size)
		       : -ENOMEM;
}
