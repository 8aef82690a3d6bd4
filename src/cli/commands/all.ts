import type { CliCommand } from '../command.ts'
import { consoleCommand } from './console.ts'
import { dev, devProcess } from './dev.ts'
import { doctor } from './doctor.ts'
import { exportRun } from './export.ts'
import { init } from './init.ts'
import { cancelRunByHand } from './runs/cancel.ts'
import { explainRunByHand } from './runs/explain.ts'
import { migrate } from './migrate.ts'
import { listQueuesByHand } from './queues/list.ts'
import { QUEUE_COMMANDS } from './queues/one.ts'
import { getRun } from './runs/get.ts'
import { listRuns } from './runs/list.ts'
import { replayRunByHand } from './runs/replay.ts'
import { triggerRun } from './runs/trigger.ts'
import { watchRun } from './runs/watch.ts'
import { TOKEN_CHANGE_COMMANDS } from './tokens/change.ts'
import { completeTokenByHand } from './tokens/complete.ts'
import { getToken } from './tokens/get.ts'
import { listTokensByHand } from './tokens/list.ts'

/** All commands, in the order of the help. */
export const COMMANDS: readonly CliCommand[] = [
  init,
  dev,
  devProcess,
  consoleCommand,
  listRuns,
  getRun,
  watchRun,
  explainRunByHand,
  triggerRun,
  replayRunByHand,
  cancelRunByHand,
  exportRun,
  listTokensByHand,
  getToken,
  completeTokenByHand,
  ...TOKEN_CHANGE_COMMANDS,
  listQueuesByHand,
  ...QUEUE_COMMANDS,
  doctor,
  migrate,
]
