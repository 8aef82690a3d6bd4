import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { messageOf } from '../../primitives/message.ts'
import { type FailedSchedule, storyOf } from './error.ts'
import { storyPage } from './story-page.ts'

const MOST_NAME = 60

/**
 * Writes the page of a failed schedule. A failure that is the same in the next run of the tests has the same file.
 *
 * @returns The path of the file, or why it could not be written: the test has failed already.
 */
export function writePage(failed: FailedSchedule, folder: string): string {
  const page = storyOf(failed)
  const words = page.failure.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  const hash = createHash('sha256').update(`${page.failure}\n${page.replay}`).digest('hex').slice(0, 8)
  const name = `${words.slice(0, MOST_NAME).replace(/^-+|-+$/g, '')}-${hash}.html`
  const path = resolve(folder, name)
  try {
    mkdirSync(folder, { recursive: true })
    writeFileSync(path, storyPage(page))
    return path
  } catch (error) {
    return `cannot be written: ${messageOf(error)}`
  }
}
