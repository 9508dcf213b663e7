/* master_priv.h - between the files of the master: random bursts. */
#ifndef TB_AXI_MASTER_PRIV_H
#define TB_AXI_MASTER_PRIV_H

#include "master.h"

/* The next burst of m->traffic; counts it. False: there is none to be sent now. */
bool axi_master_draw(tb_axi_master *m, tb_axi_request *b);

#endif
