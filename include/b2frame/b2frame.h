/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * b2frame.h - all of libb2frame's public interface
 *
 * Layer: public.  Threads: see each header.
 */
#ifndef B2FRAME_B2FRAME_H
#define B2FRAME_B2FRAME_H

#include "b2frame/api.h"
#include "b2frame/array.h"
#include "b2frame/check.h"
#include "b2frame/convert.h"
#include "b2frame/create.h"
#include "b2frame/editor.h"
#include "b2frame/error.h"
#include "b2frame/file.h"
#include "b2frame/frame.h"
#include "b2frame/log.h"
#include "b2frame/names.h"
#include "b2frame/pack.h"
#include "b2frame/patience.h"
#include "b2frame/remote.h"
#include "b2frame/runtime.h"
#include "b2frame/slice.h"
#include "b2frame/version.h"
#include "b2frame/write.h"

#endif
