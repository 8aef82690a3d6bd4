import type { RunStatus } from '../../contract/records.ts'
import type { ListRunsParams } from '../../api/run.ts'
import { OLDER_NAMES, OLDER_STATUSES, OTHER_STATUSES } from '../../hosted/statuses.ts'
import type { Caller } from '../access/caller.ts'
import type { Limits } from '../limits.ts'
import { ListQuery } from '../requests/list-query.ts'

/** The statuses that no run has. */
const NEVER: readonly string[] = [...OTHER_STATUSES, ...OLDER_STATUSES]

/** The statuses that have other names in older versions of the API. */
const OLDER: ReadonlyMap<string, string> = new Map(
  Object.entries(OLDER_NAMES).map(([status, name]) => [name, status]),
)

/**
 * The filter of a list request, or `undefined` if no run can match it.
 *
 * @throws Refusal 400 for what cannot be asked; 403 unless the caller may read all that could be listed.
 */
export function readRunQuery(
  request: Request,
  { caller, limits }: { readonly caller: Caller; readonly limits: Pick<Limits, 'pageSize'> },
): ListRunsParams | undefined {
  const query = new ListQuery(request, ['status', 'taskIdentifier', 'root', 'tag', 'isTest'])
  const [tasks, tags] = [query.list('taskIdentifier'), query.list('tag')]
  requireAll(caller, { tasks, tags })
  const root = query.text('root')
  const asked = query.list('status')
  const status = asked?.filter((each) => !NEVER.includes(each)).map((each) => OLDER.get(each) ?? each)
  const isNone = (asked !== undefined && status?.length === 0) || query.text('isTest') === 'true'
  const params = {
    ...query.created(),
    ...query.page(limits.pageSize),
    // `list` refuses an unknown status.
    ...(status === undefined ? {} : { status: status as readonly RunStatus[] }),
    ...(tasks === undefined ? {} : { taskIdentifier: tasks }),
    ...(root === undefined ? {} : { root }),
    ...(tags === undefined ? {} : { tag: tags }),
  }
  return isNone ? undefined : params
}

/** Listing needs access to all runs, to every task in the filter, or to every tag in the filter. */
function requireAll(
  caller: Caller,
  {
    tasks = [],
    tags = [],
  }: { readonly tasks?: readonly string[] | undefined; readonly tags?: readonly string[] | undefined },
): void {
  const mayAll = (type: string, ids: readonly string[]): boolean =>
    ids.length > 0 && ids.every((id) => caller.may({ action: 'read', type, id }))
  if (mayAll('tasks', tasks) || mayAll('tags', tags)) return
  caller.require({ action: 'read', type: 'runs' })
}
