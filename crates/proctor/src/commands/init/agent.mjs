// The agent under test. Put yours in its place: a function, a class, or an agent of the AI SDK or Mastra. TypeScript works, too.

export async function agent(messages) {
  const asked = messages.at(-1).content;
  if (asked.includes('table')) {
    const free = freeTables(4);
    const calls = [{ name: 'free_tables', arguments: { guests: 4 }, result: free }];
    return { text: `There is a table at ${free[0]}.`, tool_calls: calls };
  }
  return { text: 'Good evening! How can I help?', tool_calls: [] };
}

function freeTables(guests) {
  return ['19:00', '20:30'];
}
