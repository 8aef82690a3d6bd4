import type { RunRecord, RunStatus } from '../../contract/records.ts'
import { isFinal } from '../../contract/run-states.ts'
import { html, type Html } from '../../primitives/html.ts'
import { FAILURES } from '../outcome.ts'

/** So many runs are in it. */
export const IN_A_SPARK = 20
/** Of a bar and the gap behind it. */
const STEP = 6
const HEIGHT = 18

/** How the newest runs of a task ended, the newest at the right: a failed one is higher, as well as red. */
export function spark(newest: readonly RunRecord[]): Html {
  const runs = newest.slice(0, IN_A_SPARK).reverse()
  if (runs.length === 0) return html`<span class="none">–</span>`
  const failed = runs.filter(({ status }) => FAILURES.includes(status)).length
  const label = `The last ${runs.length} runs: ${failed === 0 ? 'none' : failed} failed`
  const from = IN_A_SPARK - runs.length
  return html`<svg
    class="spark"
    viewBox="0 0 ${IN_A_SPARK * STEP - 2} ${HEIGHT}"
    role="img"
    aria-label="${label}"
  >
    ${runs.map(({ status }, at) => {
      const kind = kindOf(status)
      const height = kind === 'no' ? HEIGHT : 12
      return html`<rect
        class="${kind}"
        x="${(from + at) * STEP}"
        y="${HEIGHT - height}"
        width="4"
        height="${height}"
        rx="1"
      />`
    })}
  </svg>`
}

function kindOf(status: RunStatus): 'ok' | 'no' | 'off' | 'busy' {
  if (FAILURES.includes(status)) return 'no'
  if (status === 'COMPLETED') return 'ok'
  return isFinal(status) ? 'off' : 'busy'
}
