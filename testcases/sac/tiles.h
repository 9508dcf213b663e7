/*
 * tiles.h - a layer as the driver's plan cuts it (drivers/sac/sac_plan.h): tiles of rows on the engine, against the
 * whole layer on a golden model whose cache takes it.
 */
#ifndef SAC_TILES_H
#define SAC_TILES_H

#include "sac.h"
#include "sac_device.h"

#define TILES_CACHE 4u /* the layer may be as many times as large as the cache */

/* One task on the engine, compared with the model. False: the run has failed. */
typedef bool tiles_task(sac_device *dev, sac_dev *drv, const tb_prog_run *run, const sac_task *t);
/*
 * All tiles of at most `rows` rows of a layer that reads and writes memory. A layer that even a tile of one row cannot
 * be cut from is left out. False: the run has failed.
 */
bool tiles_run(sac_device *dev, sac_dev *drv, const tb_prog_run *run, const sac_task *t, uint32_t rows,
               tiles_task *one);

#endif
