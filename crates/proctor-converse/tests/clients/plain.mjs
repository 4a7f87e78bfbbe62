// An agent without any client library: fetch, streamed.
export async function agent(messages) {
  const reply = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${process.env.OPENAI_API_KEY}` },
    body: JSON.stringify({ model: 'asked-for', stream: true, messages: messages.map(({ role, content }) => ({ role, content })) }),
  });
  const lines = (await reply.text()).split('\n').filter((line) => line.startsWith('data: {'));
  return lines.map((line) => JSON.parse(line.slice(6)).choices[0]?.delta.content ?? '').join('');
}
