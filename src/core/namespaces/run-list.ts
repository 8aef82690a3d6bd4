import { type CursorPagePromise, cursorPages } from '../../api/cursor-page.ts'
import type { ListRunsParams, Run } from '../../api/run.ts'
import { TAG_NAMES } from '../../api/tag-filter.ts'
import type { OptionNames } from '../../primitives/require.ts'
import type { Kernel } from '../kernel.ts'
import { LISTS } from './late-calls.ts'
import type { RunsListed } from './list-pages.ts'
import { checkedList, LIST_NAMES } from './token-list.ts'

const FILTERS: OptionNames<ListRunsParams> = /* @__PURE__ */ Object.assign(
  { taskIdentifier: true, root: true },
  LIST_NAMES,
  TAG_NAMES,
)

/** Lists runs, page by page. */
export function listOfRuns(kernel: Kernel, about: RunsListed): CursorPagePromise<Run> {
  return cursorPages(
    (cursor) => kernel.read(() => LISTS.use(({ listedRuns }) => listedRuns(kernel, about, cursor))),
    () => checkedList(about.params, 'runs.list', FILTERS),
  )
}
