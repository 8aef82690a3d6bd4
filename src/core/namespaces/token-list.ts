import type { OptionNames } from '../../primitives/require.ts'
import { requireName, requireOptions } from '../../primitives/require.ts'
import type { Cursor, CursorPagePromise } from '../../api/cursor-page.ts'
import { TAG_NAMES } from '../../api/tag-filter.ts'
import { cursorPages } from '../../api/cursor-page.ts'
import type { Kernel } from '../kernel.ts'
import { LISTS } from './late-calls.ts'
import type { ListTokensParams, Token, TokenLinks } from '../../api/token.ts'

/** The filters that all lists have. */
export const LIST_NAMES = {
  status: true,
  period: true,
  from: true,
  to: true,
  limit: true,
  after: true,
  before: true,
} as const
const NAMES: OptionNames<ListTokensParams> = /* @__PURE__ */ Object.assign(
  { idempotencyKey: true },
  LIST_NAMES,
  TAG_NAMES,
)

/** Tokens, newest first; see docs/waitpoints.md. */
export function listTokens(kernel: Kernel, params: ListTokensParams): CursorPagePromise<Token & TokenLinks> {
  return cursorPages(
    (cursor) => kernel.read(() => LISTS.use(({ listedTokens }) => listedTokens(kernel, params, cursor))),
    () => checkedList(params, 'wait.listTokens', NAMES),
  )
}

/**
 * The filters of a list, if they can be used: one that is misspelt would be ignored.
 *
 * @throws TypeError for what is no filter, and for a cursor that is none.
 */
export function checkedList<Params extends Cursor & { readonly limit?: number }>(
  params: Params,
  what: string,
  names: OptionNames<Params>,
): Params {
  requireOptions(params, `the filters of ${what}`, names)
  const { after, before } = params
  if (after !== undefined) requireName(after, 'after')
  if (before !== undefined) requireName(before, 'before')
  return params
}
