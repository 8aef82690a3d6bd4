import type { TokenRecord, TokenStatus } from '../../contract/records.ts'
import { defined } from '../../primitives/defined.ts'
import { choiceOf, countLinks, cursorsOf, pageLinks, sinceOf } from '../filters.ts'
import { html, type Html } from '../../primitives/html.ts'
import type { PageContent } from '../page.ts'
import { storedToken, tokenRecords } from '../records.ts'
import { searchField, TOKEN_WORDS } from '../search.ts'
import { badge, moment, short, table } from '../values.ts'
import { nameOfToken } from './token.ts'
import { eventsOf, filterOf, linkTo, placeOf, type Visit } from '../visit.ts'

const STATUSES = ['WAITING', 'COMPLETED', 'TIMED_OUT', 'all'] as const

/** *Tokens*: what waits for an answer. */
export async function tokensPage(visit: Visit): Promise<PageContent> {
  const { inside, now } = visit
  const id = filterOf(visit, 'id')
  const status: TokenStatus | 'all' = choiceOf(visit, 'status', STATUSES) ?? 'WAITING'
  const tag = filterOf(visit, 'tag')
  const filter = {
    status: status === 'all' ? undefined : [status],
    tags: tag === undefined ? undefined : [tag],
    from: sinceOf(visit),
  }
  const page =
    id === undefined
      ? await tokenRecords(inside, filter, cursorsOf(visit))
      : {
          records: await storedToken(inside, id).then(
            ({ record }) => [record],
            () => [],
          ),
        }
  const counts =
    id === undefined
      ? await visit.engine.wait.countTokens(defined({ tags: tag, from: filter.from }))
      : undefined
  const { records } = page
  const list =
    records.length === 0
      ? nothing(visit)
      : table(
          ['Token', 'Status', 'Deadline', 'Created', 'By run'],
          records.map((record) => rowOf(visit, record, now)),
          'list',
        )
  return {
    title: 'Tokens',
    section: 'inbox',
    events: eventsOf(visit),
    body: html`<h1>Tokens</h1>
      ${searchField(visit, TOKEN_WORDS, {
        placeholder: 'status:all  tag:review  since:7d',
        proposed: [...STATUSES.map((each) => `status:${each.toLowerCase()}`), 'since:24h'],
      })}
      <div id="counts" data-live>
        ${counts !== undefined && countLinks(visit, 'tokens', { counts, current: status })}
      </div>
      <div id="list" data-live>${list}</div>
      ${pageLinks(visit, 'tokens', page)}`,
  }
}

function rowOf(visit: Visit, record: TokenRecord, now: number): Html {
  const { id, status, createdAt, timeoutAt, runId } = record
  return html`<tr id="row-${id}">
    <td>
      <a class="name" href="${placeOf(visit, 'tokens', id)}" ${status === 'WAITING' && html`data-act="a"`}
        >${nameOfToken(record)}</a
      ><span class="id">${short(id)}</span>
    </td>
    <td>${badge(status)}</td>
    <td class="num" data-label="deadline">${moment(timeoutAt, now)}</td>
    <td class="num" data-label="created">${moment(createdAt, now)}</td>
    <td data-label="run">
      ${runId === undefined ? html`<span class="none">–</span>` : html`<a href="${placeOf(visit, 'runs', runId)}"><span class="id">${short(runId)}</span></a>`}
    </td>
  </tr>`
}

function nothing(visit: Visit): Html {
  if (visit.url.search !== '')
    return html`<div class="empty">
      <h2>No token fits these filters.</h2>
      <a href="${linkTo(visit, 'tokens')}">Show what waits</a>
    </div>`
  return html`<div class="empty">
    <h2>Nothing waits for an answer.</h2>
    <p>A task asks for one like this:</p>
    <pre tabindex="0" role="region" aria-label="Example">
const token = await wait.createToken({ timeout: '24h', tags: ['review'] })
const answer = await wait.forToken(token).unwrap()</pre>
    <p><a href="${linkTo(visit, 'tokens', { status: 'all' })}">Show settled tokens too</a></p>
  </div>`
}
