import type { FailedSchedule } from './error.ts'

/**
 * Writes the page of a failed schedule into the folder that `WAITPOINT_STORY_DIR` names.
 *
 * @returns Its path, or why it could not be written; no path without such a folder.
 */
export async function keptPage(
  failed: FailedSchedule,
  folder: string | undefined = process.env['WAITPOINT_STORY_DIR'],
): Promise<NonNullable<FailedSchedule['page']>> {
  if (folder === undefined || folder === '' || failed.report.steps.length === 0) return { path: undefined }
  const { writePage } = await import('./story-file.ts')
  return { path: writePage(failed, folder) }
}
