RSpec.describe StringTools do
  describe ".slug" do
    it "should downcase the title" do # !19
      expect(described_class.slug("ABC")).to eq("abc")
    end

    it "works" do
      described_class.slug("x y")
      expect(true).to be(true) # !2
    end

    it "replaces spaces" do # !2
      described_class.slug("a b")
    end

    it "" do # !17
      expect(described_class.slug("a")).to eq("a")
    end

    it "is idempotent" do # !28
    end

    xit "strips accents" do # !28
      expect(described_class.slug("é")).to eq("e")
    end

    context "with umlauts" do # !9
      it { is_expected.to be_nil } # !10
    end
  end

  describe ".words" do
    it "returns the words" do
      expect(described_class.words("a b") == %w[a b]).to be(true) # !28
    end

    it "includes every word" do
      expect(described_class.words("a b").include?("a")).to eq(true) # !28
    end

    it "returning an empty list for an empty text" do # !19
      expect(described_class.words("")).to eq([])
    end

    %w[a b c].each do |letter| # !15
      it "finds #{letter}" do
        expect(described_class.words(letter)).to eq([letter])
      end
    end
  end
end
