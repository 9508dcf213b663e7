/* sim_priv.h - private to this folder. */
#ifndef TB_SIM_PRIV_H
#define TB_SIM_PRIV_H

#include "sim.h"

/* A field of a port by its name, which is then kept up to date; ptr NULL when there is none. */
tb_sig sim_part_find(const tb_sim *sim, const char *name);
/* What the bench has set goes into the ports, before they are evaluated; what the design drives comes out of them. */
void sim_parts_put(tb_sim *sim);
void sim_parts_get(tb_sim *sim);
void sim_parts_free(tb_sim *sim);

#endif
