describe WordCount do
  def count(text)
    WordCount.new(text).count
  end

  let(:text) { "the cat and the dog" }

  it "counts every word" do
    expect(count(text)).to include("the" => 2, "cat" => 1)
  end

  it "ignores case" do
    expect(count("A a")).to eq("a" => 2)
  end

  it "JSON-encodes the result" do
    expect(WordCount.new(text).to_json).to start_with("{")
  end

  specify { expect(count("")).to eq({}) }

  context "with punctuation" do
    let(:text) { "stop! stop?" }

    it "drops it" do
      expect(count(text)).to eq("stop" => 2)
    end

    context "and numbers" do
      let(:text) { "2 stops, 2 goes" }

      it "keeps the numbers" do
        expect(count(text)["2"]).to eq(2)
      end
    end

    context "but no letters" do
      let(:text) { "!?" }

      it "returns an empty hash" do
        expect(count(text)).to be_empty
      end
    end
  end

  describe "#each" do
    it "yields words with their numbers" do
      expect { |probe| WordCount.new("a").each(&probe) }.to yield_with_args("a", 1)
    end

    it "returns an enumerator without a block" do
      expect(WordCount.new("a").each).to be_an(Enumerator)
    end
  end

  it "does not change the text" do
    expect { count(text) }.not_to change { text }
  end

  it "sets the locale" do
    expect(WordCount.new(text, locale: :de).locale).to eq(:de)
  end
end
