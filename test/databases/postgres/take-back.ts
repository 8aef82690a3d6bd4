import { beforeEach } from 'vitest'
import { takeBackSchemas } from '../../../src/testing/storages/temporary-postgres.ts'

// An engine that a test abandons leaves its schema open. To make another one costs as much as the test, and makes every connection
// look through all statements that it has planned. Tests side by side have theirs at the same time.
beforeEach(({ task }) => (task.concurrent === true ? undefined : takeBackSchemas()))
