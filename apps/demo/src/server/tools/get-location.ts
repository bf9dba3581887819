import { defineTool } from '@bowline/agent-loop'
import { z } from 'zod'
import { toolLabel } from '../../tool-labels.ts'

/** Has no `execute`: the run is suspended until a browser answers. */
export function getLocation() {
  return defineTool({
    name: 'get_location',
    label: toolLabel('get_location'),
    description: "Asks the reader's browser for the place it is at. The reader may decline.",
    inputSchema: z.object({}),
    effect: 'pure',
  })
}
