/*
 * wave_name.h - private to the reader of ports: recognises signals by name.
 */
#ifndef TB_WAVE_NAME_H
#define TB_WAVE_NAME_H

#include "wave_port.h"

#define AXI_NAME_MAX 512u /* longer names are not those of a bus */

typedef struct axi_name {
    tb_axi_signal signal; /* TB_AXI_SIGNALS: none of a bus */
    tb_axi_side side;
    char stem[AXI_NAME_MAX]; /* in the case of the file */
} axi_name;

/* "m_req_i", "axi_rsp[1]": a struct of one direction of a port. */
bool axi_name_struct(const char *name);
/* "m0_axi_awvalid_o": AWVALID of the stem "m0_axi", of a master. */
void axi_name_read(const char *name, axi_name *out);
/*
 * The same for the words of another bus: "m_axis_tdata_o" is "tdata" of the stem "m_axis", also "m_axis_t_data" and
 * "req.t.data" of structs. Which word; `count`: none. stem has AXI_NAME_MAX bytes.
 */
size_t axi_name_word(const char *name, const char *const *words, size_t count, char *stem);
/* How well a name matches a clock or a reset of a port with this stem: smaller is better, 0: not at all. level: active
 * level by a reset's name. */
unsigned axi_name_clock(const char *name, const char *stem);
unsigned axi_name_reset(const char *name, const char *stem, int *level);
/* Names from here on are ambiguous: two of them are an error. */
#define AXI_NAME_VAGUE 1000u
/* 1 or 0 by the end of the name: "rst_n" and "resetb" are active low. */
int axi_name_level(const char *name);

/* Lower case; dst has AXI_NAME_MAX bytes. False: too long. */
bool axi_name_fold(const char *text, char *dst);
/* strcasecmp() of a path, with or without the file's outermost scope. */
bool axi_name_is(const tb_wave_signal *s, const char *path);

#endif
