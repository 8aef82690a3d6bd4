import { task } from 'waitpoint'
import type { Body, ExplorationTools } from 'waitpoint/testing'
import type { Planted } from './planted.ts'

/** Tells a status to the outside. */
export type Report = (t: ExplorationTools, shown: { status: string }, status: string) => Promise<void>

/** A run reports what it does while it goes on. */
export function reporting(report: (report: Report) => Report): Body {
  return async (t) => {
    const shown = { status: 'new' }
    const tell = report((of, to, status) => of.step(`report ${status}`, () => void (to.status = status)))
    const build = task({
      id: 'build',
      run: async (_payload: null) => {
        const begun = tell(t, shown, 'building')
        await t.step('build', () => undefined)
        await Promise.all([begun, tell(t, shown, 'built')])
      },
    })
    t.use(build)
    const run = await t.engine.trigger(build, null)
    await run.result()
    if (shown.status !== 'built') throw new Error(`it was built, and shows "${shown.status}"`)
  }
}

/** Reports go side by side: a slow one comes after the next one, for ever. */
export const statusOvertaken: Planted = {
  body: reporting((report) => report),
  options: {},
  breaks: 'the body holds',
}
